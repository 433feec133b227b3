#!/bin/sh
# A machine with a management controller: libvirt has the machine, sushy-tools speaks Redfish for it.
#
# controller.sh DIRECTORY EMULATOR
#
# Runs until it is killed, in namespaces of its own: the files that libvirt knows by name are not those of this computer.
# DIRECTORY holds domain.xml and emulator.conf, and gets what both say.
set -eu
directory=$1 emulator=$2
for place in /etc/libvirt /run/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
    mkdir -p "$place"
    mount -t tmpfs tmpfs "$place"
done
cat >/etc/libvirt/qemu.conf <<END
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
remember_owner = 0
END
printf 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n' >/etc/libvirt/libvirtd.conf
libvirtd >"$directory/libvirtd.log" 2>&1 &
tries=0
until virsh version >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat "$directory/libvirtd.log"; exit 1; }
    sleep 0.2
done
# Discs that are inserted are kept in a pool of this name.
mkdir -p "$directory/media"
virsh pool-define-as default dir --target "$directory/media"
virsh pool-start default
virsh define "$directory/domain.xml"
exec "$emulator" --config "$directory/emulator.conf"
