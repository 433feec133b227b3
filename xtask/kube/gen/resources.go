package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

type kind struct {
	Group, Version, Kind string
}

// group is an entry of aggregated discovery.
type group struct {
	Metadata struct{ Name string }
	Versions []struct {
		Version   string
		Resources []struct {
			Resource, Scope, SingularResource string
			ResponseKind                      kind
			Verbs, ShortNames, Categories     []string
			Subresources                      []struct {
				Subresource  string
				ResponseKind kind
				Verbs        []string
			}
		}
	}
}

// readDiscovery joins aggregated discovery documents.
func readDiscovery(files []string) []group {
	groups := []group{}
	for _, file := range files {
		var list struct{ Items []group }
		check(json.Unmarshal(must(os.ReadFile(file)), &list))
		groups = append(groups, list.Items...)
	}
	return groups
}

type priority struct{ group, version int }

// readPriorities reads how the aggregator orders the groups and versions.
func readPriorities(file string) map[string]priority {
	var list struct {
		Items []struct {
			Spec struct {
				Group, Version       string
				GroupPriorityMinimum int
				VersionPriority      int
			}
		}
	}
	check(json.Unmarshal(must(os.ReadFile(file)), &list))
	// The aggregator serves its own group before all others, without an APIService.
	found := map[string]priority{"apiregistration.k8s.io/v1": {20000, 15}}
	for _, item := range list.Items {
		found[item.Spec.Group+"/"+item.Spec.Version] = priority{item.Spec.GroupPriorityMinimum, item.Spec.VersionPriority}
	}
	return found
}

// hiddenStorage names the kinds that stock stores in a version it does not serve by default.
var hiddenStorage = map[string]kind{
	"admissionregistration.k8s.io/MutatingAdmissionPolicy":        {"admissionregistration.k8s.io", "v1beta1", ""},
	"admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": {"admissionregistration.k8s.io", "v1beta1", ""},
	"apiextensions.k8s.io/CustomResourceDefinition":               {"apiextensions.k8s.io", "v1beta1", ""},
}

// servedStorage names the kinds that stock stores in another version than the one in the URL, and that is served too.
var servedStorage = map[string]kind{
	"autoscaling/HorizontalPodAutoscaler": {"autoscaling", "v2", ""},
	"events.k8s.io/Event":                 {"", "v1", ""},
}

func storageVersionHash(stored kind, name string) string {
	sum := sha256.Sum256([]byte(stored.Group + "/" + stored.Version + "/" + name))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

func writeResources(out string, groups []group, priorities map[string]priority, table *typeTable) {
	rust := map[string]string{}
	for _, root := range table.roots {
		rust[root.apiVersion+" "+root.kind] = root.rust
	}
	var source, versions bytes.Buffer
	source.WriteString(header + "use super::*;\n\npub(crate) static RESOURCES: &[Resource] = &[\n")
	versions.WriteString("pub(crate) static VERSIONS: &[Version] = &[\n")
	for _, group := range groups {
		name := group.Metadata.Name
		for _, version := range group.Versions {
			priority, ok := priorities[name+"/"+version.Version]
			if !ok {
				log.Fatalf("no priority for %s/%s", name, version.Version)
			}
			fmt.Fprintf(&versions, "    v(%q, %q, %d, %d),\n", name, version.Version, priority.group, priority.version)
			for _, resource := range version.Resources {
				here := kind{name, version.Version, ""}
				stored, hashed := here, here
				if other, ok := servedStorage[name+"/"+resource.ResponseKind.Kind]; ok {
					stored, hashed = other, other
				}
				if other, ok := hiddenStorage[name+"/"+resource.ResponseKind.Kind]; ok {
					hashed = other
				}
				hash := ""
				if contains(resource.Verbs, "watch") {
					hash = storageVersionHash(hashed, resource.ResponseKind.Kind)
				}
				typeName, ok := rust[apiVersion(name, version.Version)+" "+resource.ResponseKind.Kind]
				if !ok {
					log.Fatalf("no type for %s in %s/%s", resource.ResponseKind.Kind, name, version.Version)
				}
				fmt.Fprintf(&source, "    r(%q, %q, %q, %q, %q, %v, &%s, %q, %q)", name, version.Version, resource.Resource,
					resource.SingularResource, resource.ResponseKind.Kind, resource.Scope == "Namespaced", typeName,
					apiVersion(stored.Group, stored.Version), hash)
				fmt.Fprintf(&source, ".verbs(%s)", rustStrings(resource.Verbs))
				if len(resource.ShortNames) > 0 {
					fmt.Fprintf(&source, ".short(%s)", rustStrings(resource.ShortNames))
				}
				if len(resource.Categories) > 0 {
					fmt.Fprintf(&source, ".categories(%s)", rustStrings(resource.Categories))
				}
				if len(resource.Subresources) > 0 {
					source.WriteString(".below(&[\n")
					for _, sub := range resource.Subresources {
						fmt.Fprintf(&source, "        s(%q, %q, %q, %q, %s),\n", sub.Subresource, sub.ResponseKind.Group,
							sub.ResponseKind.Version, sub.ResponseKind.Kind, rustStrings(sub.Verbs))
					}
					source.WriteString("    ])")
				}
				source.WriteString(",\n")
			}
		}
	}
	source.WriteString("];\n\n")
	source.Write(versions.Bytes())
	source.WriteString("];\n")
	check(os.WriteFile(filepath.Join(out, "resources.rs"), source.Bytes(), 0o644))
}

func contains(words []string, word string) bool {
	for _, other := range words {
		if other == word {
			return true
		}
	}
	return false
}

// writeBootstrap writes each object that stock creates by itself as one line of JSON.
func writeBootstrap(out string, files []string) {
	var source strings.Builder
	source.WriteString(header + "pub(crate) static OBJECTS: &[&str] = &[\n")
	for _, file := range files {
		var list struct {
			Kind, APIVersion string
			Items            []map[string]any
		}
		check(json.Unmarshal(must(os.ReadFile(file)), &list))
		for _, object := range list.Items {
			object["apiVersion"] = list.APIVersion
			object["kind"] = strings.TrimSuffix(list.Kind, "List")
			metadata := object["metadata"].(map[string]any)
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
				delete(metadata, field)
			}
			if status, ok := object["status"].(map[string]any); ok {
				conditions, _ := status["conditions"].([]any)
				for _, condition := range conditions {
					delete(condition.(map[string]any), "lastTransitionTime")
				}
			}
			fmt.Fprintf(&source, "    r#\"%s\"#,\n", must(json.Marshal(object)))
		}
	}
	source.WriteString("];\n")
	check(os.WriteFile(filepath.Join(out, "bootstrap.rs"), []byte(source.String()), 0o644))
}
