"""The timers of hosts as Debian 12, Debian 13 and Ubuntu 24.04 install them, with the settings of their packages."""

import dataclasses
import math

from making import BIN, DAY, DECOYS, HOUR, MINUTE, WEEK, Host


@dataclasses.dataclass(frozen=True)
class Starts:
    """When a job may begin: at each of these seconds of the week, or up to `width_s` later."""

    name: str
    at_s: tuple
    width_s: float = 0.0


def daily_at(*at_s):
    return tuple(day * DAY + at for day in range(7) for at in at_s)


def sunday_at(at_s):
    return (6 * DAY + at_s,)


@dataclasses.dataclass(frozen=True)
class Unit:
    timer: str
    command: str
    # Lines of the timer's and of the service's [Unit].
    conditions: str = ""
    service_conditions: str = ""
    # None for timers that count from boot: nobody knows from files when these run.
    at_s: tuple | None = None
    # The delay alone, and how much later it may be for fewer wake-ups.
    delay_s: float = 0.0
    accuracy_s: float = MINUTE


ON_POWER = "ConditionACPower=true\n"
NO_CONTAINER = "ConditionVirtualization=!container\n"
FSTRIM = Unit(
    "OnCalendar=weekly\nAccuracySec=1h\nPersistent=true\nRandomizedDelaySec=6000\n",
    "/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose --quiet-unsupported",
    NO_CONTAINER + "ConditionPathExists=!/etc/initrd-release\n", NO_CONTAINER, (0,), 100 * MINUTE, HOUR)
DEBIAN_12 = {
    "apt-daily": Unit("OnCalendar=*-*-* 6,18:00\nRandomizedDelaySec=12h\nPersistent=true\n",
                      "/usr/lib/apt/apt.systemd.daily update", "", ON_POWER, daily_at(6 * HOUR, 18 * HOUR), 12 * HOUR),
    "apt-daily-upgrade": Unit("OnCalendar=*-*-* 6:00\nRandomizedDelaySec=60m\nPersistent=true\n",
                              "/usr/lib/apt/apt.systemd.daily install", "After=apt-daily.timer\n", ON_POWER,
                              daily_at(6 * HOUR), HOUR),
    "dpkg-db-backup": Unit("OnCalendar=daily\n", "/usr/libexec/dpkg/dpkg-db-backup", at_s=daily_at(0)),
    "e2scrub_all": Unit("OnCalendar=Sun *-*-* 03:10:00\nRandomizedDelaySec=60\nPersistent=true\n", "/sbin/e2scrub_all",
                        "", ON_POWER, sunday_at(190 * MINUTE), MINUTE),
    "fstrim": FSTRIM,
    "logrotate": Unit("OnCalendar=daily\nAccuracySec=1h\nPersistent=true\n", "/usr/sbin/logrotate /etc/logrotate.conf",
                      "", ON_POWER, daily_at(0), 0, HOUR),
    "man-db": Unit("OnCalendar=daily\nRandomizedDelaySec=12h\nPersistent=true\n", "/usr/bin/mandb --quiet",
                   "", ON_POWER, daily_at(0), 12 * HOUR),
    "systemd-tmpfiles-clean": Unit("OnBootSec=15min\nOnUnitActiveSec=1d\n", "systemd-tmpfiles --clean",
                                   "ConditionPathExists=!/etc/initrd-release\n"),
}
TRIXIE_DPKG = Unit("OnCalendar=daily\nPersistent=true\n", "/usr/libexec/dpkg/dpkg-db-backup", at_s=daily_at(0))
DEBIAN_13 = DEBIAN_12 | {
    "dpkg-db-backup": TRIXIE_DPKG,
    "fstrim": dataclasses.replace(FSTRIM, timer=FSTRIM.timer.replace("6000", "100min")),
    "logrotate": Unit("OnCalendar=daily\nRandomizedDelaySec=1h\nPersistent=true\n", "/usr/sbin/logrotate /etc/logrotate.conf",
                      "", ON_POWER, daily_at(0), HOUR),
}
UBUNTU_24 = DEBIAN_12 | {
    "dpkg-db-backup": TRIXIE_DPKG,
    "fstrim": dataclasses.replace(FSTRIM, timer=FSTRIM.timer.replace("6000", "100min")),
    "fwupd-refresh": Unit("OnCalendar=*-*-* *:00:00\nRandomizedDelaySec=1h\nPersistent=true\n", "/usr/bin/fwupdmgr refresh",
                          NO_CONTAINER, "", daily_at(*range(0, DAY, HOUR)), HOUR),
    "motd-news": Unit("OnCalendar=00,12:00:00\nRandomizedDelaySec=12h\nPersistent=true\nOnStartupSec=1min\n",
                      "/etc/update-motd.d/50-motd-news --force", "", "", daily_at(0, 12 * HOUR), 12 * HOUR),
    "ua-timer": Unit("OnUnitActiveSec=6h\nRandomizedDelaySec=1h\nOnStartupSec=1min\n",
                     "/usr/bin/python3 /usr/lib/ubuntu-advantage/timer.py",
                     "ConditionPathExists=/var/lib/ubuntu-advantage/private/machine-token.json\n"),
    "update-notifier-download": Unit("OnStartupSec=5m\nOnUnitActiveSec=24h\n",
                                     "/usr/lib/update-notifier/package-data-downloader", "",
                                     "ConditionFileIsExecutable=/usr/lib/update-notifier/package-data-downloader\n"),
    "update-notifier-motd": Unit("OnCalendar=Sun *-*-* 06:00:00\nRandomizedDelaySec=1w\nPersistent=true\n",
                                 "/usr/lib/ubuntu-release-upgrader/release-upgrade-motd",
                                 "", "ConditionFileIsExecutable=/usr/lib/ubuntu-release-upgrader/release-upgrade-motd\n",
                                 sunday_at(6 * HOUR), WEEK),
}
SYSTEMS = {"Debian 12": DEBIAN_12, "Debian 13": DEBIAN_13, "Ubuntu 24.04": UBUNTU_24}
# The decoys of a crontab that run daily or weekly.
CRON_STARTS = [
    Starts("daily", daily_at(385 * MINUTE)),
    Starts("weekly", sunday_at(407 * MINUTE)),
    Starts("logrotate", daily_at(0)),
    Starts("sysstat-night", daily_at(1439 * MINUTE)),
    Starts("e2scrub", sunday_at(210 * MINUTE)),
    Starts("checkarray", sunday_at(57 * MINUTE)),
]


def add_unit(host, name, unit, where="etc/systemd/system"):
    """A timer that is enabled, and its service."""
    host.files[f"{where}/{name}.timer"] = (
        f"[Unit]\nDescription={name}\n{unit.conditions}\n[Timer]\n{unit.timer}\n[Install]\nWantedBy=timers.target\n")
    host.files[f"{where}/{name}.service"] = (
        f"[Unit]\nDescription={name}\n{unit.service_conditions}\n[Service]\nType=oneshot\nExecStart={unit.command}\n")
    host.links[f"etc/systemd/system/timers.target.wants/{name}.timer"] = f"/{where}/{name}.timer"


def default_host(rng, zone, system=None):
    """A host with ten decoys and its distribution's timers, these timers, and when all of them may start."""
    system = system or rng.choice(sorted(SYSTEMS))
    host, units = Host(DECOYS, zone), SYSTEMS[system]
    for name, unit in units.items():
        add_unit(host, name, unit, "lib/systemd/system" if system == "Debian 12" else "usr/lib/systemd/system")
    if system != "Debian 12":
        host.links["lib"] = "usr/lib"
    starts = [Starts(name, unit.at_s, unit.delay_s + unit.accuracy_s) for name, unit in units.items() if unit.at_s]
    return host, units, CRON_STARTS + starts


def own_unit(name, calendar, more):
    return Unit(f"OnCalendar={calendar}\n{more}", BIN + name)


def is_told_apart(one, other, runs, step_s):
    """Whether so many runs of one job show that they are not the other's, in samples so far apart.

    Jobs that run more or less often than each other differ by that. Others differ if some run lies where the other job
    cannot begin, or if all of them lie in a small part of the time where it could."""
    if len(one.at_s) != len(other.at_s):
        return True
    inside, points = 0, 100
    for point in range(points):
        at = one.at_s[0] + (point + 0.5) / points * one.width_s
        inside += any((at - begin + step_s) % WEEK <= min(other.width_s + 2 * step_s, WEEK) for begin in other.at_s)
    if inside == 0:
        return True
    density = math.log(max(other.width_s, step_s) / max(one.width_s, step_s))
    return runs * (density - math.log(inside / points)) > 7
