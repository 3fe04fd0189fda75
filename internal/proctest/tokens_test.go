//go:build unix

package proctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// issuer is a small authorization server: it gives tokens and says by which
// key they are signed.
type issuer struct {
	*httptest.Server
	key   *rsa.PrivateKey
	given atomic.Int64
}

func newTokenIssuer(t *testing.T) *issuer {
	i := &issuer{key: must(rsa.GenerateKey(rand.Reader, 2048))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"1","n":%q,"e":%q}]}`,
		encode(i.key.N.Bytes()), encode(big.NewInt(int64(i.key.E)).Bytes()))
}

// token gives a token of some seconds, for the audience kafka if that is the
// scope asked for.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	if id, secret, _ := r.BasicAuth(); id != "flow" || secret != kafkaPassword {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	}
	i.given.Add(1)
	const life = 4 * time.Second
	now := time.Now()
	claims := must(json.Marshal(map[string]any{
		"iss": i.URL, "sub": "flow", "aud": r.FormValue("scope"), "scope": r.FormValue("scope"), "iat": now.Unix() - 1, "exp": now.Add(life).Unix() + 1,
	}))
	text := encode([]byte(`{"alg":"RS256","typ":"JWT","kid":"1"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature := must(rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:]))
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, text+"."+encode(signature), int(life.Seconds()))
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
