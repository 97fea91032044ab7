#!/bin/sh
# Prepares Debian 12 (bookworm) for the release binaries: as root, in an image or in any bookworm folder.
set -eu

. /etc/os-release
if [ "${VERSION_CODENAME:-}" != bookworm ]; then
    echo "setup.sh: this is for Debian 12 (bookworm), not ${PRETTY_NAME:-an unknown system}" >&2
    exit 1
fi

# The binaries contain the Swift runtime. These are the C libraries that they load; add a new system library of Package.swift here.
#   libmosquitto1    MQTT              libssl3     TLS, and the reason when it fails
#   libstdc++6       of the runtime    tzdata      times in the reader's zone
#   libsqlite3-0     the durable log, and histories
#   libyaml-0-2      configuration files
#   libpq5           histories in PostgreSQL
#   libsodium23      signatures, encrypted OwnTracks    zlib1g    compressed bodies    libjs-leaflet…    the gateway's map
#   curl             an agent that is set up by Overland's link
#   libcurl4         HTTP requests: webhooks, the routing engine, an agent that forwards to a server
#   ca-certificates  brokers whose certificate a public CA signed
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends libmosquitto1 libssl3 libsqlite3-0 libyaml-0-2 libpq5 libsodium23 zlib1g \
    libstdc++6 libjs-leaflet ca-certificates curl libcurl4 tzdata
apt-get clean
rm -rf /var/lib/apt/lists/*

# The programs do not run as root. Their data is in /var/lib/godwit.
if ! getent passwd godwit >/dev/null; then
    useradd --system --home-dir /var/lib/godwit --create-home --shell /usr/sbin/nologin godwit
fi
# The directory of the agent's control socket (docker exec … godwit-agent status), also for a user that the engine sets.
install -d -m 1777 /run/godwit
