package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var password = regexp.MustCompile(`://([^/@:\s]*):[^/@\s]*@`)

// masked hides the password of every URL.
func masked(text string) string { return password.ReplaceAllString(text, "://$1:***@") }

// showReports prints what kubectl get proxyreports prints: the API server's own table, from the columns of the CRD.
func (s *stage) showReports(ctx context.Context) error {
	body, err := s.get(ctx, "/apis/fairlead.io/v1alpha1/namespaces/"+clusters+"/proxyreports", "application/json;as=Table;v=v1;g=meta.k8s.io")
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		return err
	}
	rows := make([][]string, len(table.Rows)+1)
	for i, column := range table.ColumnDefinitions {
		if column.Priority != 0 {
			continue
		}
		rows[0] = append(rows[0], column.Name)
		for j, row := range table.Rows {
			cell := row.Cells[i]
			if cell == nil {
				cell = "" // as kubectl
			}
			rows[j+1] = append(rows[j+1], fmt.Sprint(cell))
		}
	}
	s.command("kubectl get proxyreports -n " + clusters)
	s.table(rows)
	return nil
}

func (s *stage) get(ctx context.Context, path, accept string) ([]byte, error) {
	clients, err := kubernetes.NewForConfig(s.cp.Admin())
	if err != nil {
		return nil, err
	}
	return clients.RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).DoRaw(ctx)
}
