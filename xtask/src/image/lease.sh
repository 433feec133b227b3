#!/bin/busybox sh
# What is done with what a DHCP server says; called by busybox' udhcpc.
case "$1" in
  deconfig)
    ip address flush dev "$interface"
    ip link set "$interface" up
    ;;
  bound | renew)
    ip address replace "$ip/$mask" dev "$interface"
    [ -n "$mtu" ] && ip link set "$interface" mtu "$mtu"
    for gateway in $router; do
      ip route replace default via "$gateway" dev "$interface"
      break
    done
    if [ -n "$dns" ]; then
      : > "/run/roost/resolv.$interface"
      for server in $dns; do echo "nameserver $server" >> "/run/roost/resolv.$interface"; done
      cat /run/roost/resolv.* > /etc/resolv.conf
    fi
    [ -n "$hostname" ] && [ "$(hostname)" = "(none)" ] && hostname "$hostname"
    ;;
esac
exit 0
