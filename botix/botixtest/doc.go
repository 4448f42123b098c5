// Package botixtest is the BOTIX public API as a local sandbox: a server with real state, real limits and scripted
// faults, for tests of programs that talk to the API.
//
// It is written from the API's contract and knows nothing of the client in this module, so that it can contradict it.
//
//	srv, err := botixtest.Start(botixtest.Config{})
//	defer srv.Close()
//	contact := srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
//
//	// The second send does its work and loses its answer.
//	srv.Script(botixtest.On("messagesSend").Nth(2).Do(botixtest.CutAfter()))
//
//	… point a client at srv.URL() with srv.APIKey(), let it send twice …
//
//	srv.Journal().MessagesTo(contact) // what really reached the contact, under which keys
package botixtest
