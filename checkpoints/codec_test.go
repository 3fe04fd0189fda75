package checkpoints_test

import (
	"bytes"
	"strings"
	"testing"

	"flowgraph/checkpoints"
)

const valid = `{"version":1,"vchannel":"by-dev-rootcoord-dml_0-0","topic":"by-dev-rootcoord-dml_0","partition":0,
"topic_id":"first-topic","epoch":1,"owner":"A","sequence":0,
"read_from":{"offset":9,"leader_epoch":0,"tick":"0"},
"seek_position":{"offset":12,"leader_epoch":0,"tick":"7"},
"collections":{"100":{"schema_offset":-1,"last_ddl":-1,"partitions":{"101":{"auto_end":0,"auto_end_deletes":0}}}},
"segments":{"7":{"id":"7","collection":"100","partition":"101","level":2,"state":1,
"start":{"offset":10,"leader_epoch":0,"tick":"0"},"end":{"offset":13,"leader_epoch":0,"tick":"0"},
"rows":3,"bytes":300,"first_time":1,"last_time":2,
"logs":[{"log":"100000010000000001","rows":3,"bytes":300,"min_ts":"1","max_ts":"2"}]}}}`

func TestADocumentThatContradictsItselfIsRefusedByNameNotStartedAfresh(t *testing.T) {
	const zero = `{"offset":0,"leader_epoch":-1,"tick":"0"}`
	start := `"start":{"offset":10,"leader_epoch":0,"tick":"0"},`
	end := `"end":{"offset":13,"leader_epoch":0,"tick":"0"},`
	logs := valid[strings.Index(valid, `,
"logs"`) : len(valid)-3]
	s7 := valid[strings.Index(valid, `"7":`) : len(valid)-2]
	for _, test := range []struct{ name, old, new, names string }{
		{"end without start", start, "", "segment \"7\""},
		{"start without end", end, "", "segment \"7\""},
		{"end below start", `"offset":13`, `"offset":9`, "segment 7"},
		{"rows in an empty range", `"offset":13`, `"offset":10`, "segment 7"},
		{"rows without logs", logs, "", "segment 7"},
		{"logs without rows", `"rows":3,"bytes":300,"f`, `"rows":0,"bytes":0,"f`, "segment 7"},
		{"fewer rows than its logs", `"rows":3,"bytes":300,"f`, `"rows":2,"bytes":300,"f`, "segment 7"},
		{"new with an end", `"state":1`, `"state":0`, "segment 7"},
		{"normal with nothing", `"state":1`, `"state":4`, "segment 7"},
		{"flushed without an end", end, `"end":` + zero + ",", "segment 7"},
		{"two entries for one segment", s7, s7 + "," + s7, "segments/7"},
		{"two spellings of one segment", s7, s7 + "," + strings.Replace(s7, `"7":`, `"07":`, 1), "one segment"},
		{"an entry of another segment", `"7":{"id":"7"`, `"7":{"id":"8"`, "segment 7"},
		{"null entry", s7, `"7":null`, "segment 7"},
		{"an end above the auto end", `"level":2`, `"level":2,"auto":true`, "segment 7"},
		{"log ID of another width", `"log":"1000`, `"log":"10000`, "segment 7"},
		{"offset missing", `"offset":12,`, "", "offset"},
		{"offset -1", `"offset":9`, `"offset":-1`, "read_from"},
		{"offset -2", `"offset":12`, `"offset":-2`, "seek_position"},
		{"offset empty", `"offset":12`, `"offset":""`, "offset"},
		{"offset null", `"offset":12`, `"offset":null`, "offset"},
		{"the greatest offset", `"offset":12`, `"offset":9223372036854775807`, "seek_position"},
		{"beyond the greatest offset", `"offset":12`, `"offset":9223372036854775808`, "offset"},
		{"position missing", `"read_from":{"offset":9,"leader_epoch":0,"tick":"0"},`, "", "read_from"},
		{"reading from above the seek position", `"offset":9`, `"offset":13`, "read_from"},
		{"another vchannel", `dml_0-0"`, `dml_0-1"`, "dml_0-0"},
		{"topic of another vchannel", `"partition":0`, `"partition":1`, "partition"},
		{"no topic ID", `first-topic`, ``, "topic ID"},
		{"no version", `"version":1,`, ``, "version"},
		{"version 0", `"version":1,`, `"version":0,`, "version"},
		{"auto end missing", `"auto_end":0,`, ``, "auto_end"},
		{"auto end below zero", `"auto_end":0,`, `"auto_end":-1,`, "collection 100"},
		{"last event missing", `"last_ddl":-1,`, ``, "last_ddl"},
		{"something after it", "}}}", "}}}{}", ""},
		{"segments missing", `"segments"`, `"other"`, "segments"},
		{"collections null", `"collections":{`, `"collections":null,"x":{`, "collections"},
		{"event without offset", `"segments":`, `"ddl":[{"kind":"create_collection","collection":"100"}],"segments":`, "offset"},
		{"event of an unknown kind", `"segments":`, `"ddl":[{"kind":"x","offset":1,"collection":"100"}],"segments":`, "offset 1"},
		{"drop without offset", `"last_ddl":-1,`, `"last_ddl":-1,"dropped":{"timestamp":"1"},`, "offset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(valid, test.old) {
				t.Fatal("the test changes nothing")
			}
			_, err := checkpoints.Decode(v0.Name(), []byte(strings.Replace(valid, test.old, test.new, 1)))
			wantError(t, err, checkpoints.ErrInvalid)
			if !strings.Contains(err.Error(), "checkpoints/by-dev-rootcoord-dml_0-0.json") || !strings.Contains(err.Error(), test.names) {
				t.Errorf("error %q does not say where: %s", err, test.names)
			}
		})
	}
}

func TestWhatSaysThatNothingIsPersistedIsLegal(t *testing.T) {
	logs := valid[strings.Index(valid, `,
"logs"`) : len(valid)-3]
	bare := strings.NewReplacer(logs, "", `"rows":3,"bytes":300`, `"rows":0,"bytes":0`).Replace(valid)
	unstarted := strings.Replace(bare, `"state":1`, `"state":0`, 1)
	start := `"start":{"offset":10,"leader_epoch":0,"tick":"0"},`
	end := `"end":{"offset":13,"leader_epoch":0,"tick":"0"},`
	const zero = `{"offset":0,"leader_epoch":-1,"tick":"0"},`
	for name, doc := range map[string]string{
		"start only":            strings.Replace(unstarted, end, "", 1),
		"neither":               strings.NewReplacer(end, "", start, "").Replace(unstarted),
		"both zero":             strings.NewReplacer(end, `"end":`+zero, start, `"start":`+zero).Replace(unstarted),
		"sealed empty":          strings.Replace(bare, `"state":1`, `"state":2`, 1),
		"offset 0 is an offset": strings.NewReplacer(`"offset":9`, `"offset":0`, `"offset":12`, `"offset":0`).Replace(valid),
	} {
		if _, err := checkpoints.Decode(v0.Name(), []byte(doc)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := checkpoints.Decode(v0.Name(), []byte(strings.Replace(unstarted, start, "", 1))); err == nil {
		t.Error("end only is accepted")
	}
}

func TestATruncatedDocumentIsNeverRead(t *testing.T) {
	for n := range len(valid) {
		if _, err := checkpoints.Decode(v0.Name(), []byte(valid[:n])); err == nil {
			t.Fatalf("accepted after %d of %d bytes", n, len(valid))
		}
	}
}

func TestANewerVersionIsRefusedAsSuch(t *testing.T) {
	doc := strings.Replace(valid, `"version":1,`, `"version":3,`, 1)
	_, err := checkpoints.Decode(v0.Name(), []byte(strings.Replace(doc, `"read_from"`, `"reads"`, 1)))
	wantError(t, err, checkpoints.ErrNewerVersion)
}

func TestEncodingIsTheSameForTheSameContent(t *testing.T) {
	d, err := checkpoints.Decode(v0.Name(), []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(50) {
		s := segment(id+1000, 1, 2)
		s.End = checkpoints.Position{}
		d.Segments[s.ID] = &s
	}
	first, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := checkpoints.Decode(v0.Name(), first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Encode()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two encodings differ (%v):\n%s\n%s", err, first, second)
	}
}

func TestADocumentThatCouldNotBeReadIsNotStored(t *testing.T) {
	d, err := checkpoints.Decode(v0.Name(), []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	d.Segments[7].Rows = 4
	_, err = d.Encode()
	wantError(t, err, checkpoints.ErrInvalid)
}
