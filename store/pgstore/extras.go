package pgstore

import (
	"context"
	"embed"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

//go:embed extras/*.sql
var extras embed.FS

// addExtras adds what a schema is better with and works without: an engine that does not know
// lz4 or plpgsql goes on as it is.
func (d *database) addExtras(ctx context.Context) {
	filled := render(extraFiles(), d.address, "")
	for _, name := range names(filled) {
		text, err := fs.ReadFile(filled, name)
		if err == nil {
			err = d.statement(ctx, func(ctx context.Context, c *pgx.Conn) error {
				_, err := c.PgConn().Exec(ctx, string(text)).ReadAll()
				return err
			})
		}
		if err != nil {
			d.options.Logger.WarnContext(ctx, "the schema goes without an extra", "schema", d.address.schema, "extra", name, "err", err)
		}
	}
}

func extraFiles() fs.FS {
	files, err := fs.Sub(extras, "extras")
	if err != nil {
		panic("pgstore: no extras in the program: " + err.Error())
	}
	return files
}

// names are the SQL files of a folder, in order.
func names(files fs.FS) []string {
	found, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic("pgstore: " + err.Error())
	}
	return found
}
