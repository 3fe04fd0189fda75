package sinks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bare hides the keys that this machine may have.
func bare(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY",
		"MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_PROFILE", "AWS_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
}

// role answers as a machine's metadata, a container's and a token service do.
func role(t *testing.T) (*httptest.Server, *int) {
	asked := 0
	mux := http.NewServeMux()
	keys := func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"role","SecretAccessKey":"s","Token":"t","Expiration":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "token") })
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/a-role") {
			keys(w, r)
			return
		}
		fmt.Fprint(w, "a-role")
	})
	mux.HandleFunc("GET /container", keys)
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.FormValue("Action") != "AssumeRoleWithWebIdentity" || r.FormValue("WebIdentityToken") != "web-token" || r.FormValue("RoleArn") != "arn:a-role" {
			t.Errorf("asked with %v", r.Form)
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey>`+
			`<SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s, &asked
}

func TestAPlaceOfKeysIsNeverAsked(t *testing.T) {
	bare(t)
	server, _ := role(t)
	shared, token := filepath.Join(t.TempDir(), "shared"), filepath.Join(t.TempDir(), "token")
	for path, text := range map[string]string{shared: "[default]\naws_access_key_id = shared\naws_secret_access_key = s\n", token: "web-token"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, set := range map[string]map[string]string{
		"aws":    {"AWS_ACCESS_KEY_ID": "aws", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SHARED_CREDENTIALS_FILE": shared},
		"minio":  {"MINIO_ACCESS_KEY": "minio", "MINIO_SECRET_KEY": "s", "AWS_SHARED_CREDENTIALS_FILE": shared},
		"shared": {"AWS_SHARED_CREDENTIALS_FILE": shared},
		"web":    {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": "arn:a-role"},
		"role":   {},
	} {
		t.Run(want, func(t *testing.T) {
			for name, value := range set {
				t.Setenv(name, value)
			}
			c := newChain(&credentials.IAM{Client: roleClient(), Endpoint: server.URL})
			v, err := credentials.New(c).GetWithContext(&credentials.CredContext{Client: http.DefaultClient, Endpoint: server.URL})
			if err != nil || v.AccessKeyID != want {
				t.Errorf("key %q, %v (%s)", v.AccessKeyID, err, c)
			}
		})
	}
	t.Run("container", func(t *testing.T) {
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.URL+"/container")
		v, err := credentials.New(newChain(&credentials.IAM{Client: roleClient()})).GetWithContext(nil)
		if err != nil || v.AccessKeyID != "role" {
			t.Errorf("key %q, %v", v.AccessKeyID, err)
		}
	})
}

func TestALaptopWithoutKeysWaitsForACloudAtEveryRequest(t *testing.T) {
	bare(t)
	asked := 0
	nobody := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "no", http.StatusNotFound)
	}))
	defer nobody.Close()
	c := newChain(&credentials.IAM{Client: roleClient(), Endpoint: nobody.URL})
	creds := credentials.New(c)
	for range 5 {
		if v, err := creds.GetWithContext(nil); err != nil || !v.SignerType.IsAnonymous() {
			t.Fatalf("%v, %v", v, err)
		}
	}
	first := asked
	creds.Expire()
	if _, err := creds.GetWithContext(nil); err != nil || asked != first || asked == 0 {
		t.Errorf("asked %d times, then %d, %v", first, asked, err)
	}
	for _, place := range []string{"environment (AWS_ACCESS_KEY_ID)", "shared credentials file", "role: 404"} {
		if !strings.Contains(c.String(), place) {
			t.Errorf("%q is not in %q", place, c)
		}
	}
	c.none = c.none.Add(-noneFor)
	if _, err := creds.GetWithContext(nil); err != nil || asked == first {
		t.Errorf("never asked again: %v", err)
	}
}

func TestKeysThatWereReplacedAreNotUsedBeforeARestart(t *testing.T) {
	keys := Keys{"one", "s", ""}
	creds, _ := newCredentials(BucketConfig{Keys: func() Keys { return keys }})
	get := func() string {
		v, err := creds.GetWithContext(nil)
		if err != nil {
			t.Fatal(err)
		}
		return v.AccessKeyID
	}
	if got := get(); got != "one" {
		t.Fatal(got)
	}
	keys.Access = "two"
	creds.Expire() // as after a refusal
	if got := get(); got != "two" {
		t.Errorf("after a refusal: %s", got)
	}
}
