module github.com/fairlead-io/fairlead/e2e/vectors/client/modules/sdk

go 1.26
