//! When jobs run: crontab, anacron and systemd calendars to runs. Pure: the clock is handed in.
