module github.com/fairlead-io/fairlead/e2e/vectors/client/modules/kubernetes

go 1.26
