package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// extension is what an OpenAPI document says about a struct or field and no other table holds.
type extension struct {
	MapType string          `json:"x-kubernetes-map-type,omitempty"`
	Unions  json.RawMessage `json:"x-kubernetes-unions,omitempty"`
}

// writeOpenAPI writes the rare extensions of schemas, and the versions in which clients know the option kinds.
func writeOpenAPI(out, folder string) {
	lines := map[string]string{}
	add := func(schema, field string, found extension) {
		// Atomic maps are in the tables of types.
		if found.MapType == "atomic" {
			found.MapType = ""
		}
		text := string(must(json.Marshal(found)))
		if text != "{}" {
			lines[schema+" "+field] = fmt.Sprintf("    (%q, %q, %s),\n", schema, field, rustString(text))
		}
	}
	for _, file := range must(filepath.Glob(filepath.Join(folder, "*.json"))) {
		var document struct {
			Components struct {
				Schemas map[string]struct {
					extension
					Properties map[string]extension
				}
			}
		}
		check(json.Unmarshal(must(os.ReadFile(file)), &document))
		for name, schema := range document.Components.Schemas {
			add(name, "", schema.extension)
			for field, property := range schema.Properties {
				add(name, field, property)
			}
		}
	}
	keys := []string{}
	for key := range lines {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var source strings.Builder
	source.WriteString(header + "pub(crate) static EXTENSIONS: &[(&str, &str, &str)] = &[\n")
	for _, key := range keys {
		source.WriteString(lines[key])
	}
	source.WriteString("];\n\npub(crate) static OPTION_VERSIONS: &[(&str, &str)] = &[\n")
	versions := []string{}
	for known := range clientscheme.Scheme.AllKnownTypes() {
		if known.Kind == "DeleteOptions" {
			versions = append(versions, fmt.Sprintf("    (%q, %q),\n", known.Group, known.Version))
		}
	}
	sort.Strings(versions)
	source.WriteString(strings.Join(versions, "") + "];\n")
	check(os.WriteFile(filepath.Join(out, "openapi.rs"), []byte(source.String()), 0o644))
}
