#!/bin/sh
# The system that discovered hosts get on their disks: Debian with a container runtime and hcp-agent, bootable by BIOS and
# UEFI.
#
# disk.sh root CACHE               Debian's packages in a directory, once; needs debootstrap and the network
# disk.sh write CACHE AGENT FILE   a compressed image of a disk with that root and this agent
set -eu
# What a node needs: the same packages that hcp-agent asks for on Debian.
packages="conntrack containerd containernetworking-plugins ethtool iptables nftables runc socat"
system="systemd-sysv,systemd-resolved,systemd-timesyncd,udev,dbus,iproute2,kmod,procps,ca-certificates,fdisk,e2fsprogs,zstd"
# By this number the kernel finds its root, and the agent what was left for it. It is the image's own: whoever writes the
# image gives each disk another, in the table and wherever the number stands before a dash.
disk=$(od -An -N4 -tx4 /dev/urandom | tr -d ' \n')
# In sectors of 512 bytes: a mebibyte for what the installing agent leaves, a loader for UEFI, then the root, which grows
# on the first boot.
config_start=2048 config_size=2048 loader_start=4096 loader_size=8192 root_start=12288
root_size=$((900 * 2048))

arguments="root=PARTUUID=$disk-02 rw console=tty0 console=ttyS0,115200n8 panic=60"

root() {
    cache=$1
    [ ! -d "$cache/disk" ] || return 0
    part=$cache/disk.part
    rm -rf "$part"
    mkdir -p "$cache"
    debootstrap --variant=minbase --include="$system" bookworm "$part" http://deb.debian.org/debian
    cp /etc/resolv.conf "$part/etc/resolv.conf.new"
    rm -f "$part/etc/resolv.conf"
    mv "$part/etc/resolv.conf.new" "$part/etc/resolv.conf"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    chroot "$part" apt-get install -y -q --no-install-recommends linux-image-amd64 initramfs-tools $packages
    chroot "$part" apt-get clean
    rm -rf "$part"/var/lib/apt/lists/* "$part"/usr/share/doc/* "$part"/usr/share/man/* "$part"/usr/share/locale/*
    # No node plays sounds or draws pictures, and nothing here brings the firmware that wireless cards need.
    for unused in sound drivers/gpu drivers/media drivers/net/wireless net/wireless net/mac80211 net/bluetooth \
        drivers/bluetooth drivers/staging drivers/infiniband drivers/iio; do
        rm -rf "$part"/lib/modules/*/kernel/$unused
    done
    release=$(ls "$part/lib/modules")
    chroot "$part" depmod "$release"
    chroot "$part" update-initramfs -u -k "$release"
    mv "$part" "$cache/disk"
}

configure() {
    target=$1 agent=$2
    cp "$agent" "$target/usr/bin/hcp-agent"
    mkdir -p "$target/opt/cni"
    cp -a "$target/usr/lib/cni" "$target/opt/cni/bin"
    ln "$target"/boot/vmlinuz-* "$target/boot/vmlinuz"
    ln "$target"/boot/initrd.img-* "$target/boot/initrd.img"
    echo uninitialized >"$target/etc/machine-id"
    # Every host gets an identity of its own; one that packages left here would be everybody's.
    rm -f "$target/var/lib/dbus/machine-id"
    echo localhost >"$target/etc/hostname"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$target/etc/hosts"
    printf 'PARTUUID=%s-02 / ext4 rw,relatime 0 1\n' "$disk" >"$target/etc/fstab"
    # Pods cannot use the resolver of the host itself.
    ln -sf /run/systemd/resolve/resolv.conf "$target/etc/resolv.conf"
    printf '[Match]\nName=en* eth*\n\n[Network]\nDHCP=yes\n\n[DHCPv4]\nClientIdentifier=mac\n' \
        >"$target/etc/systemd/network/80-cards.network"
    mkdir -p "$target/usr/lib/roost"
    cat >"$target/usr/lib/roost/grow" <<END
#!/bin/sh
# Lets the root file system have the whole disk.
set -e
part=\$(readlink -f /dev/disk/by-partuuid/$disk-02)
whole=/dev/\$(basename "\$(readlink -f "/sys/class/block/\${part##*/}/..")")
echo ",+" | sfdisk --no-reread --force -N 2 "\$whole"
partx -u "\$whole"
resize2fs "\$part"
touch /var/lib/roost-grown
END
    chmod 755 "$target/usr/lib/roost/grow"
    cat >"$target/etc/systemd/system/roost-grow.service" <<END
[Unit]
Description=Lets the root file system have the whole disk
ConditionPathExists=!/var/lib/roost-grown

[Service]
Type=oneshot
ExecStart=/usr/lib/roost/grow

[Install]
WantedBy=multi-user.target
END
    cat >"$target/etc/systemd/system/roost-discover.service" <<END
[Unit]
Description=Makes this host what its discovery service wants
Wants=network-online.target
After=network-online.target roost-grow.service containerd.service

[Service]
ExecStart=/usr/bin/hcp-agent discover --installed /dev/disk/by-partuuid/$disk-01
Restart=always
RestartSec=3
# Whoever stands before a host that does not join wants to read why.
StandardOutput=journal+console

[Install]
WantedBy=multi-user.target
END
    chroot "$target" systemctl enable -q systemd-networkd systemd-resolved roost-grow roost-discover
    cat >"$target/boot/extlinux.conf" <<END
DEFAULT linux
PROMPT 0
TIMEOUT 1
LABEL linux
  LINUX /boot/vmlinuz
  INITRD /boot/initrd.img
  APPEND $arguments
END
}

# The loader for machines with UEFI. It starts the system of the disk that it was started from itself.
loader() {
    raw=$1 work=$1.loader
    rm -rf "$work"
    mkdir -p "$work"
    grub-mkimage -O x86_64-efi -p /EFI/BOOT -o "$work/BOOTX64.EFI" \
        part_msdos fat ext2 normal linux regexp all_video
    cat >"$work/grub.cfg" <<END
regexp --set=1:disk '^([^,]+),' "\$root"
set root="\$disk,msdos2"
linux /boot/vmlinuz $arguments
initrd /boot/initrd.img
boot
END
    mformat -i "$raw@@$((loader_start * 512))" -T $loader_size -h 16 -s 32 ::
    mmd -i "$raw@@$((loader_start * 512))" ::/EFI ::/EFI/BOOT
    mcopy -i "$raw@@$((loader_start * 512))" "$work/BOOTX64.EFI" "$work/grub.cfg" ::/EFI/BOOT/
    rm -rf "$work"
}

write() {
    cache=$1 agent=$2 file=$3
    raw=$file.raw mount=$file.mount
    rm -f "$raw"
    truncate -s $(((root_start + root_size) * 512)) "$raw"
    printf 'label: dos\nlabel-id: 0x%s\nstart=%s, size=%s, type=da\nstart=%s, size=%s, type=83, bootable\nstart=%s, size=%s, type=ef\n' \
        "$disk" $config_start $config_size $root_start $root_size $loader_start $loader_size | sfdisk -q "$raw"
    dd if=/usr/lib/syslinux/mbr/mbr.bin of="$raw" bs=440 count=1 conv=notrunc status=none
    device=$(losetup --show -f -o $((root_start * 512)) --sizelimit $((root_size * 512)) "$raw")
    # shellcheck disable=SC2064
    trap "umount '$mount' 2>/dev/null || :; losetup -d $device; rmdir '$mount' 2>/dev/null || :" EXIT
    # The boot loader reads no file system with newer features.
    mkfs.ext4 -q -O ^64bit,^metadata_csum -L roost "$device"
    mkdir -p "$mount"
    mount "$device" "$mount"
    cp -a "$cache/disk/." "$mount/"
    configure "$mount" "$agent"
    extlinux --install "$mount/boot" >/dev/null 2>&1
    sync
    umount "$mount"
    losetup -d "$device"
    rmdir "$mount"
    trap - EXIT
    loader "$raw"
    gzip -6 -n -c "$raw" >"$file.part"
    rm "$raw"
    mv "$file.part" "$file"
}

"$@"
