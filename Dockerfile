# `npm run image` makes it: it first puts what is copied here into image/. Another builder does the same after `npm run image -- --prepare`.
# The base: the C and C++ libraries that Node needs, certificates, time zones, the user 65532; no shell, no package manager.
# For a release, pin it by digest: `npm run image -- --base gcr.io/distroless/cc-debian12:nonroot@sha256:DIGEST`.
ARG BASE=gcr.io/distroless/cc-debian12:nonroot
FROM ${BASE}
LABEL org.opencontainers.image.title="Fleetkeeper" \
      org.opencontainers.image.description="Keeps container services, volumes and accounts of the Container Compute Control API as their owners declared them" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY image/ /
# __proto__ can't be reached, SIGUSR1 opens no debugger, a crash report has no environment in it.
ENV NODE_OPTIONS="--disable-proto=delete --disable-sigusr1 --report-exclude-env"
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/fleetkeeper"]
CMD ["--help"]
