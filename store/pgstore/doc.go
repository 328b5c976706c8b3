// Package pgstore keeps a store in a schema of a PostgreSQL server: many machines, one truth.
package pgstore
