// Package call carries one business operation through its attempts: pace,
// guard, write ahead, send, classify, record, decide. Every mutation of every
// API of this module goes through [Engine.Do], so each promise of the SDK has
// one place where it is kept:
//
//   - one operation, one key, one body: [Operation] is fixed before the first
//     attempt and never written again;
//   - nothing leaves before [ledger.Drive.Begin] returned, and no caller has an
//     answer before [ledger.Drive.End] returned;
//   - after a possible effect a resend needs a reason: [decide] is the only
//     code that grants one;
//   - a wait the server asked for is a floor, and no wait outlasts its context.
package call
