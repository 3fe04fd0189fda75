package sinks

// Advice says what an operator can do about the code with which calls
// wait for the object store; "" without a code.
func Advice(code string) string {
	switch code {
	case "":
		return ""
	case "unreachable":
		return "Nothing answers. Check --s3-endpoint, whether the store runs, and the network between. Reading pauses meanwhile; nothing is lost while the log keeps its records."
	case "timeout":
		return "The store does not answer in time. Look at its load and at the network between."
	case "NoSuchBucket":
		return "The bucket does not exist. Create it, or correct --s3-bucket and --s3-endpoint; the worker goes on by itself."
	case "AccessDenied", "AllAccessDisabled", "MethodNotAllowed":
		return "The access key may not do this. Allow it GetObject, PutObject, DeleteObject and ListBucket on the bucket and root path; is the bucket read-only or under a policy?"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidTokenId", "XAdminUserNotFound", "AuthorizationHeaderMalformed":
		return "The store does not know the access key, or the secret is wrong. Check --s3-access-key, --s3-secret-key and --s3-region; keys given as files are read again."
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken":
		return "The temporary keys have expired. Renew them; keys given as files, or by the instance's role, are read again."
	case "RequestTimeTooSkewed":
		return "The clocks of this machine and of the store differ. Set them right (NTP)."
	case "XMinioStorageFull", "XMinioDiskFull", "InsufficientStorage", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded":
		return "The store is full. Free space or raise the quota; the worker goes on by itself. flowgraph gc shows what killed workers left over. Reading pauses meanwhile."
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "TooManyRequests", "RequestLimitExceeded":
		return "The store asks for fewer requests. It passes by itself; with many small flushes raise --flush-age."
	case "XMinioReadQuorum", "XMinioWriteQuorum", "XMinioServerNotInitialized", "InternalError", "ServiceUnavailable":
		return "The store is in trouble of its own. Look at its health; the worker goes on by itself."
	}
	return "The store answers with the code " + code + ". Look it up in the store's manual; the worker tries again by itself."
}
