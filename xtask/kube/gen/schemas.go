package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// property holds what an OpenAPI document says about a field and Go's types do not.
type property struct {
	Default  json.RawMessage   `json:"default"`
	Enum     []json.RawMessage `json:"enum"`
	ListType string            `json:"x-kubernetes-list-type"`
	ListKeys []string          `json:"x-kubernetes-list-map-keys"`
	MapType  string            `json:"x-kubernetes-map-type"`
	Items    *property         `json:"items"`
	Values   *property         `json:"additionalProperties"`
}

// schemaOf holds what an OpenAPI document says about a struct.
type schemaOf struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
	MapType    string              `json:"x-kubernetes-map-type"`
}

// readSchemas reads every document of a folder into one table by schema name.
func readSchemas(folder string) map[string]schemaOf {
	schemas := map[string]schemaOf{}
	files := must(filepath.Glob(filepath.Join(folder, "*.json")))
	for _, file := range files {
		var document struct {
			Components struct {
				Schemas map[string]schemaOf `json:"schemas"`
			} `json:"components"`
		}
		check(json.Unmarshal(must(os.ReadFile(file)), &document))
		for name, found := range document.Components.Schemas {
			schemas[name] = found
		}
	}
	return schemas
}
