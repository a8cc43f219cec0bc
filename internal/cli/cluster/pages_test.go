package cluster

import (
	"context"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A list of two pages whose second page is too old: the API server has forgotten it (410 Gone, reason Expired).
func TestAnExpiredListBeginsAgainWithoutPages(t *testing.T) {
	var asked []metav1.ListOptions
	list := func(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		asked = append(asked, options)
		switch {
		case options.Continue != "":
			return nil, apierrors.NewResourceExpired("compacted")
		case options.Limit > 0:
			return listOf("next", "a"), nil
		}
		return listOf("", "a", "b"), nil
	}
	found, err := pages[metav1.PartialObjectMetadata](t.Context(), "x", "", list)
	var names []string
	for _, object := range found {
		names = append(names, object.Name)
	}
	if want := []string{"a", "b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("listed %v, %v; want %v", names, err, want)
	}
	for _, options := range asked {
		if options.FieldSelector != "metadata.name=x" {
			t.Errorf("asked for %+v, want the objects of one name", options)
		}
	}
	if len(asked) != 3 {
		t.Errorf("%d requests, want two pages and the whole list", len(asked))
	}
}

func TestAListIsAskedForByPages(t *testing.T) {
	var asked []string
	list := func(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		asked = append(asked, options.Continue)
		if options.Continue == "" && options.Limit > 0 {
			return listOf("next", "a"), nil
		}
		return listOf("", "b"), nil
	}
	found, err := pages[metav1.PartialObjectMetadata](t.Context(), "", "", list)
	if err != nil || len(found) != 2 || !slices.Equal(asked, []string{"", "next"}) {
		t.Errorf("listed %v, %v; asked for %q", found, err, asked)
	}
}

func listOf(continued string, names ...string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: continued}}
	for _, name := range names {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list
}
