package noproxy_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy"
)

func ExampleParse() {
	entry, err := noproxy.Parse("10.1.2.3/8")
	fmt.Println(entry, err)
	_, err = noproxy.Parse("10.*")
	fmt.Println(err)
	// Output:
	// 10.0.0.0/8 <nil>
	// "10.*": a wildcard stands alone or as the first label (Wildcard)
}

func ExampleParseList() {
	_, err := noproxy.ParseList("localhost, http://proxy.example, 10.0.0.0/33", noproxy.Source{Field: "NO_PROXY"})
	fmt.Println(err)
	// Output:
	// NO_PROXY[1]: "http://proxy.example": write the host without the scheme in front (Scheme)
	// NO_PROXY[2]: "10.0.0.0/33": the prefix length is a number from 0 to 32 (Prefix)
}

// The entries of a company and of a cluster become one list, and each remembers where it was written.
func ExampleMerge() {
	company, _ := noproxy.ParseList("corp.example,10.0.0.0/8", noproxy.Source{Object: "company", Field: "NO_PROXY"})
	cluster, _ := noproxy.ParseList("10.0.0.0/8,.svc", noproxy.Source{Object: "cluster", Field: "NO_PROXY"})
	merged := noproxy.Merge(company, cluster)
	fmt.Println(merged)
	for _, source := range merged[1].Sources {
		fmt.Println(source.Object, source.Field)
	}
	// Output:
	// corp.example,10.0.0.0/8,.svc
	// company NO_PROXY[1]
	// cluster NO_PROXY[0]
}

// The list that all clients read alike, and what Java gets.
func ExampleWrite() {
	list, _ := noproxy.ParseList("corp.example,10.0.0.0/30", noproxy.Source{})
	fmt.Println(noproxy.Write(list, noproxy.AudienceAny, noproxy.V2).Written)
	patterns, omitted := noproxy.NonProxyHosts(list)
	fmt.Println(patterns, "without", omitted)
	// Output:
	// 10.0.0.0/30,10.0.0.0,10.0.0.1,10.0.0.2,10.0.0.3,corp.example,.corp.example
	// corp.example|*.corp.example without 10.0.0.0/30
}
