package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// fixtureKinds are the kinds whose fixtures are committed: those that components exchange most, and one for each oddity
// of the encoding.
var fixtureKinds = []string{
	"v1:Pod", "v1:Node", "v1:Service", "v1:Event", "v1:Secret", "v1:Status", "v1:DeleteOptions", "apps/v1:Deployment",
	"coordination.k8s.io/v1:Lease", "events.k8s.io/v1:Event", "discovery.k8s.io/v1:EndpointSlice",
	"certificates.k8s.io/v1:CertificateSigningRequest", "apiextensions.k8s.io/v1:CustomResourceDefinition",
	"autoscaling/v2:HorizontalPodAutoscaler", "rbac.authorization.k8s.io/v1:ClusterRole", "policy/v1:Eviction",
	"v1:PersistentVolume", "v1:ConfigMapList",
}

// fixture is one object in both encodings, as Go writes them.
type fixture struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	JSON       json.RawMessage `json:"json"`
	Protobuf   string          `json:"protobuf"`
}

// writeFixtures fills one object of each kind with made-up values and writes it in both encodings, one file a kind.
func writeFixtures(folder string, every bool, table *typeTable) {
	serializer := protobuf.NewSerializer(table.scheme, table.scheme)
	kinds := fixtureKinds
	if every {
		kinds = nil
		for _, root := range table.roots {
			audit := strings.HasPrefix(root.apiVersion, "audit.")
			if root.kind != "WatchEvent" && !strings.HasPrefix(root.kind, "Table") && !audit {
				kinds = append(kinds, root.apiVersion+":"+root.kind)
			}
		}
	}
	for seed, name := range kinds {
		apiVersion, kind, _ := strings.Cut(name, ":")
		gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
		object := must(table.scheme.New(gvk))
		// What goes through protobuf once comes out the same ever after.
		fill(object, int64(seed+1))
		object.GetObjectKind().SetGroupVersionKind(gvk)
		var wire strings.Builder
		check(serializer.Encode(object, &wire))
		decoded, _, err := serializer.Decode([]byte(wire.String()), nil, nil)
		check(err)
		decoded.GetObjectKind().SetGroupVersionKind(gvk)
		wire.Reset()
		check(serializer.Encode(decoded, &wire))
		text := must(json.Marshal(fixture{
			APIVersion: apiVersion, Kind: kind, JSON: must(json.Marshal(decoded)),
			Protobuf: base64.StdEncoding.EncodeToString([]byte(wire.String())),
		}))
		file := strings.ReplaceAll(apiVersion, "/", "_") + "_" + kind + ".json"
		check(os.WriteFile(filepath.Join(folder, file), append(text, '\n'), 0o644))
	}
}

func fill(object any, seed int64) {
	filler := randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 2).MaxDepth(12)
	filler.Funcs(
		func(text *string, c randfill.Continue) { *text = fmt.Sprintf("text-%d", c.Intn(1000)) },
		func(moment *metav1.Time, c randfill.Continue) {
			moment.Time = time.Unix(1700000000+int64(c.Intn(1e8)), 0)
		},
		func(moment *metav1.MicroTime, c randfill.Continue) {
			moment.Time = time.Unix(1700000000+int64(c.Intn(1e8)), int64(c.Intn(1e6))*1000)
		},
		func(quantity *resource.Quantity, c randfill.Continue) {
			texts := []string{"100m", "1", "1500m", "2Gi", "12e6", "0.5", "1000Ki"}
			*quantity = resource.MustParse(texts[c.Intn(len(texts))])
		},
		func(value *intstr.IntOrString, c randfill.Continue) {
			*value = intstr.FromInt32(int32(c.Intn(65536) - 5))
			if c.Bool() {
				*value = intstr.FromString(fmt.Sprintf("%d%%", c.Intn(100)))
			}
		},
		func(raw *runtime.RawExtension, c randfill.Continue) {
			raw.Raw = []byte(fmt.Sprintf(`{"a":[%d,"b",null,true]}`, c.Intn(9)))
		},
		func(fields *metav1.FieldsV1, c randfill.Continue) {
			fields.SetRawString(`{"f:spec":{".":{},"f:a":{}}}`)
		},
		func(value *apiextensionsv1.JSON, c randfill.Continue) { value.Raw = []byte(`{"x":1.5}`) },
		func(schema *apiextensionsv1.JSONSchemaProps, c randfill.Continue) { fillSchema(schema, c, 2) },
		func(number *float64, c randfill.Continue) { *number = float64(c.Intn(1000)) / 8 },
	)
	filler.Fill(object)
}

func fillSchema(schema *apiextensionsv1.JSONSchemaProps, c randfill.Continue, depth int) {
	*schema = apiextensionsv1.JSONSchemaProps{Type: "object", Description: "text"}
	least := float64(c.Intn(100)) / 4
	schema.Minimum = &least
	schema.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`5`)}}
	schema.Default = &apiextensionsv1.JSON{Raw: []byte(`{"b":[]}`)}
	if depth == 0 {
		return
	}
	inner := func() *apiextensionsv1.JSONSchemaProps {
		below := &apiextensionsv1.JSONSchemaProps{}
		fillSchema(below, c, depth-1)
		return below
	}
	schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": *inner(), "b": *inner()}
	schema.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}
	schema.AdditionalItems = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: inner()}
	schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: inner()}
	if c.Bool() {
		schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{*inner()}}
	}
	schema.Dependencies = apiextensionsv1.JSONSchemaDependencies{
		"a": {Property: []string{"b", "c"}}, "b": {Schema: inner()},
	}
}
