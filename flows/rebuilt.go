package flows

import "github.com/rs/zerolog"

// lostStats counts and logs key statistics that were lost in the bucket and
// are made anew from the keys: nothing is missing, but objects do not get lost
// by themselves.
func (m *Metrics) lostStats(log zerolog.Logger) func(key string, why error) {
	return func(key string, why error) {
		m.rebuilt.Inc()
		log.Warn().Err(why).Str("key", key).Msg("statistics of keys are lost or damaged in the bucket; those of the whole segment are made anew from the keys")
	}
}
