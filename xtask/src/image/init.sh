#!/bin/busybox sh
# The first process of the live image: finds devices, brings the network up, and runs hcp-agent for ever.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/root ROOST_LIVE=1

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /run /tmp /root /var/lib /var/log
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/roost/network

# Notices reach every console, and tell when.
say() { echo "<5>roost: $*" > /dev/kmsg; }
say "userspace"
# Nobody named this host yet; it is known by its network card until somebody does.
hostname localhost

# Everything that the machine has, and what appears when that is there.
find_devices() {
  known=
  for round in 1 2 3 4; do
    found="$(find /sys/devices -name modalias -exec cat {} + 2>/dev/null | sort -u)"
    [ "$found" = "$known" ] && break
    known="$found"
    echo "$found" | xargs modprobe -a -q 2>/dev/null
    sleep 0.2
  done
}

# An interface gets the addresses that were written for it, else asks.
configure() {
  file="/etc/roost/network/$(tr ':A-F' '-a-f' < "/sys/class/net/$1/address").env"
  if [ ! -e "$file" ]; then
    udhcpc -i "$1" -b -S -t 5 -T 2 -s /etc/roost/lease.sh > /dev/null 2>&1 &
    return
  fi
  ADDRESSES= GATEWAY= DNS= VLAN= MTU=
  . "$file"
  device="$1"
  [ -n "$MTU" ] && ip link set "$1" mtu "$MTU"
  if [ -n "$VLAN" ]; then
    modprobe -q 8021q
    device="$1.$VLAN"
    ip link add link "$1" name "$device" type vlan id "$VLAN"
    ip link set "$device" up
  fi
  for address in $ADDRESSES; do ip address add "$address" dev "$device"; done
  for gateway in $GATEWAY; do ip route add default via "$gateway" dev "$device"; done
  for server in $DNS; do echo "nameserver $server" >> /etc/resolv.conf; done
}

network() {
  for path in /sys/class/net/*; do
    name="${path##*/}"
    [ -e "$path/device" ] && [ ! -e "/run/roost/network/$name" ] || continue
    : > "/run/roost/network/$name"
    ip link set "$name" up
    configure "$name"
  done
}

# Addresses of the machine itself, one a line: device and address.
addresses() { ip -o address show scope global 2>/dev/null | awk '{ print $2, $4 }'; }

find_devices
ip link set lo up
network
waited=0
while [ -z "$(addresses)" ] && [ "$waited" -lt 60 ]; do
  sleep 0.5
  waited=$((waited + 1))
  network
done
if [ -n "$(addresses)" ]; then
  addresses | while read -r device address; do say "network up: $device $address"; done
else
  say "no network: $(cd /sys/class/net && echo *) have no address"
fi

# Who asks and where: what was embedded, unless the boot loader says otherwise.
url= environment=
for word in $(cat /proc/cmdline); do
  case "$word" in
    roost.url=*) url="${word#*=}" ;;
    roost.infra_env_id=*) environment="${word#*=}" ;;
    roost.token=*) (umask 077 && echo "${word#*=}" > /run/roost/token) ;;
  esac
done
if [ -n "$url" ]; then
  set -- --url "$url" --infra-env-id "$environment" --token-file /run/roost/token
  [ -e /etc/roost/ca.pem ] && set -- "$@" --ca-file /etc/roost/ca.pem
else
  set -- --settings /etc/roost/discovery.json
fi

say "$(hcp-agent --version 2>&1) starts"
while :; do
  network
  hcp-agent discover "$@" > /dev/console 2>&1
  status=$?
  if [ "$status" = 0 ]; then
    say "hcp-agent is done; the host restarts"
    sync
    reboot -f
  fi
  say "hcp-agent ended with $status and is started again in 3 s"
  sleep 3
done
