# syntax=docker/dockerfile:1
# The operator as an image: `docker build --tag REGISTRY/fleetkeeper:0.1.0 .`, for other machines with --platform.
# Nothing in it depends on the architecture but the binary of Node. For a release, pin the images below by digest.
ARG NODE_VERSION=24.21.0

FROM --platform=$BUILDPLATFORM docker.io/library/node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /fleetkeeper
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build
# The command: what the first line of it names is where Node is in the image, which has no /usr/bin/env.
RUN sed -i '1s|.*|#!/usr/local/bin/node|' dist/main.mjs && chmod 755 dist/main.mjs \
 && mkdir bin && ln -s /usr/local/lib/fleetkeeper/dist/main.mjs bin/fleetkeeper

FROM docker.io/library/node:${NODE_VERSION}-bookworm-slim AS node

# The C and C++ libraries that Node needs, certificates, time zones, the user 65532; no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot
LABEL org.opencontainers.image.title="Fleetkeeper" \
      org.opencontainers.image.description="Keeps container services, volumes and accounts of the Container Compute Control API as their owners declared them" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /fleetkeeper/bin/ /usr/local/bin/
COPY --from=build /fleetkeeper/LICENSE /usr/local/lib/fleetkeeper/
COPY --from=build /fleetkeeper/examples /usr/local/lib/fleetkeeper/examples
COPY --from=build /fleetkeeper/dist /usr/local/lib/fleetkeeper/dist
# __proto__ can't be reached, SIGUSR1 opens no debugger, a crash report has no environment in it.
ENV NODE_OPTIONS="--disable-proto=delete --disable-sigusr1 --report-exclude-env"
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/fleetkeeper"]
CMD ["--help"]
