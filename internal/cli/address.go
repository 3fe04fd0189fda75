package cli

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// Address is a host and a port to listen on, or empty.
type Address string

// UnmarshalText reads HOST:PORT; the host may be empty for all interfaces, the
// port 0 for any that is free.
func (a *Address) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	if in != "" {
		if err := checkHostPort(in); err != nil {
			return err
		}
	}
	*a = Address(in)
	return nil
}

// Brokers are Kafka brokers to begin with, as HOST:PORT.
type Brokers []string

// UnmarshalText reads brokers separated by commas; 9092 is the port of one
// that names none.
func (b *Brokers) UnmarshalText(text []byte) error {
	var out Brokers
	for _, in := range strings.Split(string(text), ",") {
		in = strings.TrimSpace(in)
		if in == "" {
			continue
		}
		if strings.Contains(in, "://") {
			return errors.New("a broker is HOST:PORT without a scheme, as in kafka-1:9092,kafka-2:9092")
		}
		if !strings.Contains(in, ":") {
			in += ":9092"
		}
		if err := checkHostPort(in); err != nil {
			return err
		}
		out = append(out, in)
	}
	*b = out
	return nil
}

// String writes the brokers separated by commas.
func (b Brokers) String() string { return strings.Join(b, ",") }

// checkHostPort does not repeat the value in its errors: one who writes a URL
// here may have written a password.
func checkHostPort(in string) error {
	_, port, err := net.SplitHostPort(in)
	if err != nil {
		return errors.New("not HOST:PORT, as in 127.0.0.1:9090")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("the port must be a number between 0 and 65535")
	}
	return nil
}
