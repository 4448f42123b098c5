// Package durable makes files that are whole on the disk, or not there.
package durable
