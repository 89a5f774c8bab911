#!/bin/sh
# Runs in the first stage of an image's build: makes /opt/moet-boot below OUT, with the base image's Python.
# usage: PYTHON=python3 install.sh SOURCE OUT
set -eu
source=$1
out=$2
home=$out/opt/moet-boot

if ! command -v "$PYTHON" >/dev/null 2>&1; then
  echo "moet-boot: the base image has no $PYTHON; name its Python 3.11 or later: --build-arg PYTHON=/path/python3.12" >&2
  exit 1
fi
if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "moet-boot: the base image's $PYTHON is $("$PYTHON" --version 2>&1); 3.11 or later is needed:" \
    "--build-arg PYTHON=/path/python3.12" >&2
  exit 1
fi

# wheels that scripts/build_image put there need neither network nor the base's own pip
wheels=$source/dockerfiles/wheels
from_index=
pip="$PYTHON -m pip"
if [ -d "$wheels" ]; then
  from_index="--no-index --find-links $wheels"
  pip="$PYTHON $(echo "$wheels"/pip-*.whl)/pip"
elif ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
  echo "moet-boot: the base image's $PYTHON has no pip; scripts/build_image brings one along" >&2
  exit 1
fi

"$PYTHON" -m venv --without-pip "$home"
# -I: a PYTHONPATH of the base's server is none of our business
site=$("$home/bin/python" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# shellcheck disable=SC2086  # both are lists of words
$pip install --quiet --no-cache-dir --no-deps --require-hashes --only-binary :all: $from_index \
  --target "$site" -r "$source/dockerfiles/requirements.lock"
rm -rf "$site/bin"
cp -R "$source/moet_boot" "$site/moet_boot"
cp -R "$source/profiles" "$site/moet_boot/shipped_profiles"
"$home/bin/python" -I -m compileall -q "$site" || true
if ! "$home/bin/python" -I -m moet_boot profiles check spark >/dev/null; then
  echo "moet-boot: it does not run with the base image's Python (see the lines above)" >&2
  exit 1
fi

mkdir -p "$out/usr/local/bin" "$out/var/lib/moet-boot"
rm -f "$home"/bin/[aA]ctivate*
cat >"$home/bin/moet-boot" <<'END'
#!/opt/moet-boot/bin/python -I
import sys

from moet_boot.supervise.pid_one import hold_signals

hold_signals(sys.argv[1:])

from moet_boot.cli.main import main

sys.exit(main())
END
chmod 755 "$home/bin/moet-boot"
ln -s /opt/moet-boot/bin/moet-boot "$out/usr/local/bin/moet-boot"
# like /tmp: whatever user the server runs as may write its receipts here
chmod 1777 "$out/var/lib/moet-boot"
