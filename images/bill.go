package images

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// billOf is the bill of materials of a program (CycloneDX 1.6): what go build says it has put into it, and Go itself. It has no
// serial number and no time: the same program has the same bill.
func billOf(p program, version string, more ...cdx.Component) ([]byte, error) {
	purl := "pkg:golang/" + p.info.Path + "@v" + version
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeApplication, Name: p.name, Version: version, PackageURL: purl,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(p.content))}},
		Properties: properties(p),
	}}
	components := []cdx.Component{library("stdlib", strings.TrimPrefix(p.info.GoVersion, "go"))}
	for _, module := range p.info.Deps {
		components = append(components, componentOf(module))
	}
	components = append(components, more...)
	bom.Components = &components

	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// writeBill writes the bill of an image: the program's, and the certificate authorities.
func writeBill(path string, p program, version string) error {
	roots, err := rootsVersion()
	if err != nil {
		return err
	}
	bill, err := billOf(p, version, library(rootsModule, roots))
	if err != nil {
		return err
	}
	return os.WriteFile(path, bill, 0o644)
}

// properties are how the program was built.
func properties(p program) *[]cdx.Property {
	properties := []cdx.Property{}
	for _, setting := range p.info.Settings {
		properties = append(properties, cdx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	return &properties
}

// componentOf is a module, in the version that was compiled.
func componentOf(module *debug.Module) cdx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	return library(module.Path, module.Version)
}

func library(path, version string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + version
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}

//go:embed go.mod
var gomod string

// rootsVersion returns the version of the module with the certificate authorities. The module is in this program, and
// in none of the images' programs.
func rootsVersion() (string, error) {
	for line := range strings.Lines(gomod) {
		if version, found := strings.CutPrefix(strings.TrimSpace(line), rootsModule+" "); found {
			return version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", rootsModule)
}
