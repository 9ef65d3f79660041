#!/bin/sh
# Makes the two images of this fleet from the busybox of this machine: localhost/fleetkeeper-web:1 and
# localhost/fleetkeeper-worker:1. Images of the host `localhost` are never pulled.
#   ENGINE=docker sh images.sh       # default: podman, if there is one
set -eu
ENGINE=${ENGINE:-$(command -v podman || command -v docker)}
BUSYBOX=$(command -v busybox || echo /bin/busybox)
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT

image() { # NAME, with the script of its command on stdin
  rm -rf "$FOLDER/root" && mkdir -p "$FOLDER/root/bin" "$FOLDER/root/tmp" "$FOLDER/root/etc"
  cp "$BUSYBOX" "$FOLDER/root/bin/busybox"
  for applet in cat date echo env grep head httpd ls mkdir ps sh sleep tail wc; do
    ln -s busybox "$FOLDER/root/bin/$applet"
  done
  cat > "$FOLDER/root/bin/serve"
  chmod 755 "$FOLDER/root/bin/serve"
  tar -C "$FOLDER/root" -c . | $ENGINE import --change 'CMD ["/bin/serve"]' - "localhost/$1"
}

image fleetkeeper-web:1 <<'SCRIPT'
#!/bin/sh
# Answers with its greeting at $PORT.
mkdir -p /tmp/www
echo "${GREETING:-Hello} from web" > /tmp/www/index.html
echo "serving at ${PORT:-8080}"
trap 'echo ending; exit 0' TERM
httpd -f -p "${PORT:-8080}" -h /tmp/www &
wait
SCRIPT

image fleetkeeper-worker:1 <<'SCRIPT'
#!/bin/sh
# Does a job every second, and continues with the next one after a restart: what is done is in the volume.
trap 'echo ending; exit 0' TERM
while true; do
  job=$(($(cat /workspace/done 2>/dev/null | wc -l) + 1))
  echo "job $job" >> /workspace/done
  echo "job $job is done"
  sleep 1 & wait $!
done
SCRIPT
