module github.com/fairlead-io/fairlead/e2e/vectors/client/modules/grpc

go 1.26
