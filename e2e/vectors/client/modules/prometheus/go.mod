module github.com/fairlead-io/fairlead/e2e/vectors/client/modules/prometheus

go 1.26
