package partner

import (
	"maps"
	"slices"

	"github.com/botix-pro/sdk-go/internal/call"
)

// Changes are the operations that may change something.
func Changes() (names []string) {
	for name, ep := range Rows() {
		if ep.Mutates() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Rows are the rows of the default contract.
func Rows() map[string]*call.Endpoint {
	contract := DefaultContract()
	rows := map[string]*call.Endpoint{}
	for name, ep := range maps.All(contract.rows(nil)) {
		rows[name] = &ep.Endpoint
	}
	return rows
}

// Names are those of the operations, in the order of the table.
func Names() (names []string) {
	for i := range operations {
		names = append(names, operations[i].name)
	}
	return names
}
