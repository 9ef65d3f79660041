/** A certificate for this machine, signed by itself, and its key: nothing is trusted by them but what a test makes so. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBsDCCAVegAwIBAgIUN+GarotMlbDouWDhCgC8/i2EakowCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUdGVzdHMgb2YgZmxlZXRrZWVwZXIwIBcNMjYxMTIxMDkxMzE0
WhgPMjEyNjEwMjgwOTEzMTRaMB8xHTAbBgNVBAMMFHRlc3RzIG9mIGZsZWV0a2Vl
cGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOEfZaspgw1ZxLYai6vc0jPvo
sC3opPTSmum3E0EJNYcXL+uAfdGrHdeQV0++WeqajtZlTmiWqJ/nqCObqKMVPqNv
MG0wHQYDVR0OBBYEFIyEmJbvdp4vAfsTrPvEzs83OltCMB8GA1UdIwQYMBaAFIyE
mJbvdp4vAfsTrPvEzs83OltCMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIJ
bG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0cAMEQCIDUr0jVSYvP7Mk6dKwju
+4gV9oWGLlk7FIbJ6x+tHekgAiB+0dfehpA2iWsf9JCI0t0gwUW6xUQGOk8A9V7Z
A37PLw==
-----END CERTIFICATE-----
`;

export const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwIQVYxvG4sqxQoGu
/U+AHyPbtp7VcZOPB0H8r6oRSHKhRANCAAQ4R9lqymDDVnEthqLq9zSM++iwLeik
9NKa6bcTQQk1hxcv64B90asd15BXT75Z6pqO1mVOaJaon+eoI5uooxU+
-----END PRIVATE KEY-----
`;
