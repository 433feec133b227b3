#!/bin/sh
# Takes the network connections of the host that this is: those of the folder that names any of its cards.
to="${1:-/etc/NetworkManager/system-connections}"
from="${2:-/etc/assisted/network}"
cards="${3:-/sys/class/net}"

# Cards may take a while to appear.
waited=0
while [ "$waited" -lt 60 ]; do
  for host in "$from"/host*; do
    while IFS='=' read -r address _; do
      for card in "$cards"/*/address; do
        [ "$(cat "$card" 2>/dev/null)" = "$address" ] || continue
        mkdir -p "$to"
        for connection in "$host"/*.nmconnection; do
          cp "$connection" "$to/" && chmod 600 "$to/${connection##*/}"
        done
        exit 0
      done
    done < "$host/mac_interface.ini"
  done
  sleep 0.5
  waited=$((waited + 1))
done
echo "no network configuration names a card of this host" >&2
