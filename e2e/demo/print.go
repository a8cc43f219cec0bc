package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/render"
)

var userinfo = regexp.MustCompile(`//[^/@]*@`)

// print shows the dashboard, and both Secrets of the first cluster, decoded.
func (s *stage) print(ctx context.Context) error {
	if err := s.printTable(ctx); err != nil {
		return err
	}
	for _, part := range []struct{ suffix, key string }{{render.ValuesSuffix, render.ValuesKey}, {render.SystemdSuffix, render.ContainerdKey}} {
		secret := &corev1.Secret{}
		if err := s.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: names[0] + part.suffix}, secret); err != nil {
			return err
		}
		fmt.Printf("\n    Secret %s, key %s (credentials hidden here, not there):\n\n", secret.Name, part.key)
		text := userinfo.ReplaceAllString(strings.TrimSpace(string(secret.Data[part.key])), "//***@")
		fmt.Println("        " + strings.ReplaceAll(text, "\n", "\n        "))
	}
	fmt.Println()
	return nil
}

// printTable prints what kubectl get proxyreports prints: the API server's own
// table, from the columns of the CRD.
func (s *stage) printTable(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(s.cp.Admin())
	if err != nil {
		return err
	}
	body, err := clients.RESTClient().Get().AbsPath("/apis/fairlead.io/v1alpha1/namespaces/"+namespace+"/proxyreports").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		return err
	}
	fmt.Printf("\n    $ kubectl get proxyreports -n %s\n\n", namespace)
	out := tabwriter.NewWriter(os.Stdout, 4, 0, 3, ' ', 0)
	var header []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			header = append(header, strings.ToUpper(column.Name))
		}
	}
	fmt.Fprintln(out, "    "+strings.Join(header, "\t"))
	for _, row := range table.Rows {
		var cells []string
		for i, cell := range row.Cells {
			if table.ColumnDefinitions[i].Priority == 0 {
				cells = append(cells, fmt.Sprint(orDash(cell)))
			}
		}
		fmt.Fprintln(out, "    "+strings.Join(cells, "\t"))
	}
	return out.Flush()
}

func orDash(cell any) any {
	if cell == nil {
		return "-"
	}
	return cell
}

func (s *stage) printNoProxy(ctx context.Context) error {
	for _, name := range names {
		report := &v1alpha1.ProxyReport{}
		if err := s.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, report); err != nil {
			return err
		}
		fmt.Printf("\n    %s:\n        %s\n", name, report.Status.NoProxy.Go)
	}
	fmt.Println()
	return nil
}
