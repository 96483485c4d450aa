"""Servers whose TLS is wrong, slow or none, and proxies that should get nothing."""

import ssl
import subprocess
import time

import servers

#: Modes, and what `check` says of them.
MODES = {
    "good": "status 401",
    "expired": "out of its time",
    "not-yet": "out of its time",
    "wrong-name": "for another name",
    "self-signed": "issuer is not trusted",
    "self-signed-authority": "that of an authority",
    "unknown-issuer": "issuer is not trusted",
    "tls1.0": "TLS 1.2 or 1.3",
    "tls1.1": "TLS 1.2 or 1.3",
    "client-certificate": "asks for a client certificate",
    "garbage": "does not speak it.*use http://",
    "huge-record": "does not speak it",
    "endless-handshake": "does not speak it|not done within",
    "endless-alerts": "TLS|not done within",
    "silent": "not done within",
    "drips": "not done within",
    "closes": "closed the connection",
    "http": "does not speak it.*use http://",
}


class Certificates:
    """An authority, and certificates that it signs, made with openssl."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "30")
        self.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "other.key", "-out", "other.pem", "-subj", "/CN=other", "-days", "30")
        self.sign("good", "IP:127.0.0.1")
        self.sign("wrong-name", "DNS:elsewhere.example")
        self.sign("expired", "IP:127.0.0.1", ("20200101000000Z", "20210101000000Z"))
        self.sign("not-yet", "IP:127.0.0.1", ("20900101000000Z", "20910101000000Z"))
        self.sign("unknown-issuer", "IP:127.0.0.1", authority="other")
        for name, constraint in (("self-signed", "FALSE"), ("self-signed-authority", "TRUE")):
            self.run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", "/CN=self", "-days", "30", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", f"basicConstraints=critical,CA:{constraint}")

    @property
    def authority(self):
        return self.folder / "ca.pem"

    def run(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sign(self, name, alternative, valid=None, authority="ca"):
        (self.folder / f"{name}.ext").write_text(f"[x]\nsubjectAltName={alternative}\nbasicConstraints=CA:FALSE\n")
        self.run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        if valid is None:
            self.run("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "9", "-extfile", f"{name}.ext", "-extensions", "x")
            return
        (self.folder / "index").write_text("")
        (self.folder / "serial").write_text(f"{len(name):02}\n")
        (self.folder / "ca.conf").write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n"
            f"[p]\ncommonName=supplied\n[x]\nsubjectAltName={alternative}\nbasicConstraints=CA:FALSE\n"
        )
        self.run("ca", "-batch", "-config", "ca.conf", "-cert", f"{authority}.pem", "-keyfile", f"{authority}.key", "-in", f"{name}.csr", "-out", f"{name}.pem", "-startdate", valid[0], "-enddate", valid[1], "-notext")


class Server(servers.Listener):
    """A context whose value is the port; keeps what it was sent in clear."""

    def __init__(self, mode, certificates=None):
        super().__init__()
        self.mode = mode
        self.heard = b""
        self.context = None
        named = mode if certificates and (certificates.folder / f"{mode}.pem").exists() else "good"
        if certificates:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificates.folder / f"{named}.pem", certificates.folder / f"{named}.key")
            if mode.startswith("tls1."):
                version = ssl.TLSVersion.TLSv1 if mode == "tls1.0" else ssl.TLSVersion.TLSv1_1
                self.context.set_ciphers("ALL:@SECLEVEL=0")
                self.context.minimum_version = self.context.maximum_version = version
            if mode == "client-certificate":
                self.context.verify_mode = ssl.CERT_REQUIRED
                self.context.load_verify_locations(certificates.authority)

    def serve(self, connection):
        try:
            with connection:
                self.talk(connection)
        except (OSError, ValueError):
            pass

    def endlessly(self, connection, record):
        while not self.ends:
            connection.sendall(record)

    def talk(self, connection):
        if self.mode in ("http", "proxy"):
            self.heard += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        match self.mode:
            case "silent":
                time.sleep(60)
            case "closes":
                connection.recv(65536)
            case "garbage":
                connection.recv(65536)
                connection.sendall(bytes(range(256)) * 40)
            case "huge-record":
                # A record may have 16 KiB + 2,048 bytes (RFC 5246, 6.2.3).
                connection.recv(65536)
                self.endlessly(connection, b"\x16\x03\x03\xff\xff" + b"\x02" * 65535)
            case "endless-handshake":
                # One message of 16 MiB in records of 16 KiB, and no end.
                connection.recv(65536)
                connection.sendall(b"\x16\x03\x03\x40\x00" + b"\x0b\xff\xff\xff" + b"x" * 16380)
                self.endlessly(connection, b"\x16\x03\x03\x40\x00" + b"x" * 16384)
            case "endless-alerts":
                # no_renegotiation, a warning.
                connection.recv(65536)
                self.endlessly(connection, b"\x15\x03\x03\x00\x02\x01\x64")
            case "drips":
                self.drip(connection)
            case _:
                with self.context.wrap_socket(connection, server_side=True) as secure:
                    self.heard += secure.recv(65536)
                    secure.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    def drip(self, connection):
        """Sends a good handshake, a byte every half second."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        secure = self.context.wrap_bio(incoming, outgoing, server_side=True)
        while not self.ends:
            incoming.write(connection.recv(65536))
            try:
                secure.do_handshake()
            except ssl.SSLWantReadError:
                pass
            for byte in outgoing.read():
                connection.sendall(bytes([byte]))
                time.sleep(0.5)


def commands(lab, url, extra):
    limit = ["--timeout", "4s"]
    return {
        "check": ["check", "--cluster", url, *limit, *extra],
        "explain": ["explain", url, "--query", "up", "--jobs", "none", *limit, *extra],
        "shards": ["shards", "reroute", "--state", url, *extra],
        "bench": ["bench", "run", "ingest", "--target", url, "--into", lab.dir / "bench-tls", *limit, *extra],
        "livefix": ["livefix", "status", url, *limit, *extra],
    }


SECRET = "kanarykey"


def tls(lab):
    """Every fault of TLS is named, within the deadline, and no server gets credentials over it that is not trusted."""
    certificates = Certificates(lab.dir / "certificates")
    env = {"TRIMTAB_API_KEY": SECRET}
    for mode, says in MODES.items():
        for command in commands(lab, "", []):
            server = Server(mode, certificates)
            with server as port:
                words = commands(lab, f"https://127.0.0.1:{port}", ["--ca-file", certificates.authority])[command]
                # A request is tried again on a new connection at most once; a command makes some requests.
                lab.case(f"tls {mode}: {command}", words, seconds=25, codes=(2,), says=says, absent=[SECRET], env=env)
            got = SECRET.encode() in server.heard
            lab.record(f"tls {mode}: {command}: the key", command, ["was sent"] if got and mode != "good" else [])
    # Unencrypted requests to a server that speaks TLS.
    for command in commands(lab, "", []):
        with Server("good", certificates) as port:
            words = commands(lab, f"http://127.0.0.1:{port}", [])[command]
            lab.case(f"tls on http://: {command}", words, seconds=25, codes=(2,), says="https://")


def proxies(lab):
    """Proxies in the environment get no connection, so no credentials either."""
    certificates = Certificates(lab.dir / "proxy-certificates")
    for scheme in ("http", "https"):
        for command in commands(lab, "", []):
            proxy, server = Server("proxy"), Server("http" if scheme == "http" else "good", certificates)
            with proxy as proxy_port, server as port:
                through = f"http://user:pass@127.0.0.1:{proxy_port}"
                names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
                env = {name: through for name in names + [name.lower() for name in names]}
                env |= {"NO_PROXY": "", "TRIMTAB_API_KEY": SECRET}
                words = commands(lab, f"{scheme}://127.0.0.1:{port}", ["--ca-file", certificates.authority])[command]
                lab.case(f"proxy for {scheme}: {command}", words, seconds=25, codes=(2,), absent=[SECRET], env=env)
            why = [f"{proxy.connections} connections"] if proxy.connections else []
            why += [] if server.connections else ["the server was not asked"]
            lab.record(f"proxy for {scheme}: {command}: who was asked", command, why)
