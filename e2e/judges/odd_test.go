package judges_test

import (
	"io/fs"
	"testing/fstest"
)

// oddAlias is another name of a service.
const oddAlias = "odd-alias.service"

// addOdd adds what editors, other systems and distributions leave: byte order marks, line ends of Windows, links, aliases.
func addOdd(files fstest.MapFS) {
	const units, bom = "etc/systemd/system/", "\ufeff"
	unit := func(name, lines string) {
		files[units+"odd-"+name+".service"] = &fstest.MapFile{Data: []byte(service + lines)}
	}
	write := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	link := func(name, to string) { files[name] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777} }
	for name, lines := range map[string]string{
		"crlf":         "Environment=NO_PROXY=a\r\nEnvironment=HTTP_PROXY=b \\\r\n  no_proxy=c\r\n",
		"cr":           "Environment=NO_PROXY=a\rEnvironment=HTTP_PROXY=b\n",
		"even":         "Environment=NO_PROXY=a\\\\\nEnvironment=HTTP_PROXY=b\n",
		"odd":          "Environment=NO_PROXY=a\\\\\\\nEnvironment=HTTP_PROXY=b\n",
		"quoted":       "Environment=\"NO_PROXY=a,\\\n    b\" \\\n# between\n HTTP_PROXY=c\n",
		"at-the-end":   "Environment=NO_PROXY=a \\",
		"end-of-blank": "Environment=NO_PROXY=a \\ \nEnvironment=HTTP_PROXY=b\n",
		"no-break":     "Environment=NO_PROXY=a\u00a0\n",
	} {
		unit(name, lines)
	}
	for name, text := range map[string]string{
		"bom":       bom + "NO_PROXY=a\nHTTP_PROXY=b\n",
		"crlf":      "NO_PROXY=a\r\nHTTP_PROXY=\"b\"\r\n# c\r\nno_proxy=d \\\r\n  e\r\n",
		"cr":        "NO_PROXY=a\rHTTP_PROXY=b\n",
		"blanks":    "  NO_PROXY = a \nHTTP_PROXY\t=b\nexport no_proxy = c\nALL PROXY=d\n",
		"joined":    "NO_PROXY=\"a,\"\"b\" 'c' d \"e\" \nno_proxy='a'b'c'\nHTTP_PROXY= \"a\" \n",
		"multiline": "NO_PROXY=\"a,\nb\"\nno_proxy='a\nb'\nHTTP_PROXY=a\\\nb\n",
		"escapes":   "NO_PROXY=\"a\\\"\\x\\\\\\$\\\nb\"\nno_proxy=a\\\\\nHTTP_PROXY=a\\ \nALL_PROXY='a\\'\n",
		"open":      "HTTP_PROXY=a\nNO_PROXY=\"a\nno_proxy=b\n",
		"half":      "NO_PROXY=a\nno_proxy",
		"none":      "NO_PROXY=\nno_proxy\nHTTP_PROXY=\"\"\n",
		"between":   "NO_PROXY=a \\\nb\n; c\n=d\nno_proxy=a=b # c\n",
	} {
		unit("file-"+name, "EnvironmentFile=/etc/judge/odd-"+name+"\n")
		write("etc/judge/odd-"+name, text)
	}
	unit("marked", "")
	write(units+"odd-marked.service.d/10.conf", bom+"[Service]\nEnvironment=NO_PROXY=a\n")

	for name, line := range map[string]string{"bytes": "Environment=no_proxy=\xe9\n", "header": "[Install\n[Service]\n", "comment": "# \xe9\n"} {
		unit("stops-"+name, "")
		write(units+"odd-stops-"+name+".service.d/10.conf", "[Service]\nEnvironment=NO_PROXY=a\n"+line+"Environment=NO_PROXY=b HTTP_PROXY=b\n")
	}

	unit("main", "Environment=NO_PROXY=main\n")
	link(units+oddAlias, "odd-main.service")
	link("run/systemd/system/odd-second.service", "/etc/systemd/system/odd-alias.service")
	write(units+"odd-alias.service.d/20.conf", "[Service]\nEnvironment=NO_PROXY=alias\n")
	write("usr/lib/systemd/system/odd-main.service.d/30.conf", "[Service]\nEnvironment=HTTP_PROXY=main\n")
	write(units+"odd-alias.service.d/30.conf", "[Service]\nEnvironment=HTTP_PROXY=alias\n")
	write(units+"odd-second.service.d/40.conf", "[Service]\nEnvironment=no_proxy=second\n")

	unit("links", "EnvironmentFile=/etc/judge/link\nEnvironmentFile=-/etc/judge/nowhere\nEnvironmentFile=-/etc/judge/round\n")
	link("etc/judge/link", "/run/judged/link")
	link("run/judged/link", "../../etc/judge/0.env")
	link("etc/judge/round", "round")
	link("etc/judge/nowhere", "/etc/judge/nothing")
	write(units+"odd-links.service.d/10.conf", "[Service]\nEnvironment=FTP_PROXY=seen\n")
	write("usr/lib/systemd/system/odd-links.service.d/20.conf", "[Service]\nEnvironment=ALL_PROXY=hidden\n")
	link(units+"odd-links.service.d/20.conf", "/dev/null")
	write("usr/share/odd.conf", "[Service]\nEnvironment=https_proxy=linked\n")
	link(units+"odd-links.service.d/30.conf", "/usr/share/odd.conf")
	write("usr/share/odd-linked.service", service+"Environment=NO_PROXY=linked\n")
	link(units+"odd-outside.service", "/usr/share/odd-linked.service")
}
