module rpc-client

go 1.19
