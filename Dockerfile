# Two images: `--target agent` is the device's program, `--target godwit` everyone else's. docker/README.md says how.
# `--build-arg BASE_IMAGE=debian@sha256:…` pins the base by digest.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE} AS base
COPY docker/setup.sh /tmp/setup.sh
RUN sh /tmp/setup.sh
USER godwit

FROM base AS agent
COPY docker/bin/godwit-agent /usr/local/bin/
ENTRYPOINT ["godwit-agent"]

FROM base AS godwit
COPY docker/bin/godwit /usr/local/bin/
ENTRYPOINT ["godwit"]
