module hello-go

go 1.21
