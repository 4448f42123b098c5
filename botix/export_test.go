package botix

import "github.com/botix-pro/sdk-go/internal/call"

// Mutations are the rows of the endpoint table that may change something.
func Mutations() (rows []*call.Endpoint) {
	for _, ep := range endpoints {
		if ep.Mutates() {
			rows = append(rows, ep)
		}
	}
	return rows
}
