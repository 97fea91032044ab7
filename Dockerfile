# Two images: `--target agent` is the device's program, `--target godwit` everyone else's. docker/README.md says how.
FROM debian:bookworm-slim AS base
COPY docker/setup.sh /tmp/setup.sh
RUN sh /tmp/setup.sh
USER godwit

FROM base AS agent
COPY docker/bin/godwit-agent /usr/local/bin/
ENTRYPOINT ["godwit-agent"]

FROM base AS godwit
COPY docker/bin/godwit /usr/local/bin/
ENTRYPOINT ["godwit"]
