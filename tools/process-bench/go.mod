module cairn.local/process-bench

go 1.26.0
