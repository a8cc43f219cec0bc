package images

import (
	"bytes"
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// plainIndex is an index in the bytes that image-spec's own types write. skopeo copy --all writes any other anew, and its digest changes.
type plainIndex struct {
	parts
	raw []byte
}

// parts has the name of no method, as an embedded field must.
type parts = v1.ImageIndex

func plain(index v1.ImageIndex) (v1.ImageIndex, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	type platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	type descriptor struct {
		MediaType types.MediaType `json:"mediaType"`
		Digest    v1.Hash         `json:"digest"`
		Size      int64           `json:"size"`
		Platform  platform        `json:"platform"`
	}
	out := struct {
		SchemaVersion int64           `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     []descriptor    `json:"manifests"`
	}{SchemaVersion: 2, MediaType: manifest.MediaType}
	for _, m := range manifest.Manifests {
		out.Manifests = append(out.Manifests, descriptor{m.MediaType, m.Digest, m.Size, platform{m.Platform.Architecture, m.Platform.OS}})
	}
	raw, err := json.Marshal(out)
	return plainIndex{index, raw}, err
}

func (p plainIndex) RawManifest() ([]byte, error) { return p.raw, nil }

func (p plainIndex) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(p.raw))
}

func (p plainIndex) Size() (int64, error) { return int64(len(p.raw)), nil }

func (p plainIndex) Digest() (v1.Hash, error) {
	digest, _, err := v1.SHA256(bytes.NewReader(p.raw))
	return digest, err
}
