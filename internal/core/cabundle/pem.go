package cabundle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

const typeCertificate = "CERTIFICATE"

// otherTypes are shown in messages; any other text may be anything.
var otherTypes = []string{
	"TRUSTED CERTIFICATE", "X509 CERTIFICATE", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "X509 CRL", "PUBLIC KEY", "RSA PUBLIC KEY",
	"PKCS7", "CMS", "DH PARAMETERS", "EC PARAMETERS",
}

func shownType(kind string) string {
	if slices.Contains(otherTypes, kind) {
		return kind
	}
	return "that is not known"
}

// block is a PEM block, with its lines BEGIN and END.
type block struct {
	kind string
	line int // of BEGIN
	text []byte
}

// privateKey returns the line in which some private key begins: PKCS #1, PKCS #8,
// SEC 1, OpenSSH, PGP, encrypted or not, commented out or not.
func privateKey(data []byte) int {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if upper := bytes.ToUpper(line); bytes.Contains(upper, []byte("BEGIN")) && bytes.Contains(upper, []byte("PRIVATE KEY")) {
			return number
		}
	}
	return 0
}

// split finds the blocks. encoding/pem passes over whatever it does not
// understand, so that a damaged line would take a certificate away unseen.
func split(data []byte) ([]block, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // Windows
	if bytes.HasPrefix(data, []byte{0x30, 0x82}) {
		return nil, errors.New("is DER and not PEM: convert it with openssl x509 -inform der")
	}
	var blocks []block
	var open *block
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		begin, isBegin := boundary(line, "BEGIN")
		end, isEnd := boundary(line, "END")
		switch {
		case open != nil && isBegin:
			return nil, unended(open)
		case isBegin:
			open = &block{kind: begin, line: number, text: appendLine(nil, line)}
		case open != nil && isEnd && end != open.kind:
			return nil, fmt.Errorf("line %d: ends a block of another type than the one that began in line %d", number, open.line)
		case open != nil:
			open.text = appendLine(open.text, line)
			if isEnd {
				blocks, open = append(blocks, *open), nil
			}
		case len(line) > 0 && line[0] != '#':
			return nil, fmt.Errorf("line %d: stands outside of any certificate, and is neither blank nor a comment (#)", number)
		}
	}
	if open != nil {
		return nil, unended(open)
	}
	return blocks, nil
}

func unended(b *block) error {
	return fmt.Errorf("line %d: the block that begins here has no end", b.line)
}

// boundary returns the type in a line such as -----BEGIN CERTIFICATE-----.
func boundary(line []byte, word string) (string, bool) {
	rest, before := bytes.CutPrefix(line, []byte("-----"+word+" "))
	kind, after := bytes.CutSuffix(rest, []byte("-----"))
	return string(kind), before && after
}

func appendLine(text, line []byte) []byte { return append(append(text, line...), '\n') }
