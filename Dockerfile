# Three images: `--target agent` is the device's program, `--target roads` the routing engine, `--target godwit` everyone else's.
# docker/README.md describes them.
# `--build-arg BASE_IMAGE=debian@sha256:…` pins the base by digest.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE} AS base
COPY docker/setup.sh /tmp/setup.sh
RUN sh /tmp/setup.sh
USER godwit

FROM base AS agent
COPY docker/bin/godwit-agent /usr/local/bin/
ENTRYPOINT ["godwit-agent"]

# The engine's programs are for x86-64. They are installed when the image is built; the tiles are built when it starts.
FROM base AS roads
USER root
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*
COPY scripts/roads /usr/local/bin/godwit-roads
ENV XDG_CACHE_HOME=/var/cache
# The folder of the engine is readable for the user of the container.
RUN godwit-roads --install-only && chmod 0755 /var/cache/godwit/valhalla
USER godwit
ENTRYPOINT ["godwit-roads"]

FROM base AS godwit
COPY docker/bin/godwit /usr/local/bin/
ENTRYPOINT ["godwit"]
